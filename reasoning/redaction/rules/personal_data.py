"""Personal data in text: e-mail addresses, cards, identity numbers, phones, accounts, addresses, home folders.

Filings are full of numbers that look like these, so each rule asks for what only the real thing has: an issuer's range
and a check digit, a layout, or a label. Ten bare digits are a CIK and ``dd-ddddddd`` is an EIN: neither is masked.
Spec 004 redaction.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from string import ascii_uppercase, digits
from typing import Final, NamedTuple

from stdnum import iban, luhn
from stdnum.ar import cuit
from stdnum.be import nn as rijksregister
from stdnum.ch import ssn as ahv
from stdnum.cl import rut
from stdnum.cn import ric
from stdnum.cz import rc as rodne_cislo
from stdnum.es import nie
from stdnum.fi import hetu
from stdnum.kr import rrn
from stdnum.lv import pvn as personas_kods
from stdnum.mx import curp
from stdnum.my import nric as mykad
from stdnum.pk import cnic
from stdnum.se import personnummer
from stdnum.th import pin as thai_pin

from reasoning.redaction.rules import Rule, Span, Trigger, pattern_rule
from reasoning.redaction.rules.tables import HAS_ROWS, find_in_tables, table_window
from reasoning.redaction.values import lower_case, wordset

# Also the ways in which people and HTML disguise the at sign.
_EMAIL = re.compile(
    r"(?P<local>(?<![\w.+%$-])(?<!\w')(?<!://)\w(?:(?!%40)[\w.+%'-]){0,63}+)(?:@|&#64;|&#x40;|&commat;|%40|＠|\[at\]|\(at\))"
    r"(?P<domain>(?:[\w-]{1,63}(?:\.|\[dot\]|\(dot\))){1,8}(?P<tld>[^\W\d_]{2,24}))(?![\w-])"
)
_FILE_ENDINGS = frozenset(["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "html", "json", "py"])
# git@github.com is an address of a repository, not of a person.
_SERVICE_USERS = frozenset(["git", "hg", "svn"])  # of an address such as git@host:path
_ALGORITHM_DOMAINS = frozenset(["openssh.com", "libssh.org"])  # of ciphers: aes256-gcm@openssh.com
_URL_USER = re.compile(r"://[^\s/@:]{1,64}:\Z")  # behind which a password stands, which has a rule of its own
# Visa, Mastercard, American Express, Discover, JCB, Diners, UnionPay: nothing else passes for a card.
_CARD_ISSUER = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6011\d{12}"
    r"|64[4-9]\d{13}|65\d{14}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)
_BLANK = r"(?:[ +]|%20)"  # in the query of an address, too
_MONTH = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"


# Characters of words that are written without blanks, or have particles behind them.
_EAST_ASIAN = "[\u3040-\u9fff\uac00-\ud7af]"
# Marks between a label and its value, also HTML tags.
_MARKS = r"(?:[\s:*]|</?[a-z]{1,8}>){0,12}"
_SIGNS = r"[^A-Za-z0-9\n\[]{0,8}?(?:value[^A-Za-z0-9\n\[]{0,4})?"


def spellings(text: str) -> frozenset[str]:
    """Return the words of ``text``, and how they are written without accents and umlauts."""
    bare = "".join(char for char in unicodedata.normalize("NFD", text) if not "\u0300" <= char <= "\u036f")
    german = text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")
    return wordset(unicodedata.normalize("NFC", f"{text} {bare} {german}"))


# With what an address begins: capitals, or words for streets and places in small letters.
_CAPITALS = "A-ZÀ-ÖØ-ÞĆČĎĐĘĚĞİĽŁŃŇŐŒŘŚŠŞŤŮŰŹŻŽΑ-ΩА-ЯЁЄІЇ"
_STREET = (
    "(?:ul|al|pl|os|ул|г|д|с|п|р|клх|ст|пер|пр|просп|ш|наб|пос|дер|к)\\.|клх|plac|aleja|osiedle|ulica|rue|avenue|boulevard|chemin"
    "|allée|place|impasse|route|quai|calle|avenida|plaza|paseo|viale|piazza|corso|rua|travessa|praça|улица|ulice"
)
# Between the label of an address and the address.
_ARE = "is|ist|lautet|est le|est au|est|es|è|é|är|er|to|der|au|in"


_OF = "of|for|von|de|du|des|der|del|della|di|da|do|van"  # between a label and whose it is


class Layout(NamedTuple):
    """A ``pattern`` that only numbers of persons have, and what else is true of them; they need no label.

    A blank of the pattern is written outside of groups: what is before it begins the number.
    """

    name: str
    pattern: str
    examples: tuple[str, str]
    is_valid: Callable[[str], object] = bool


LAYOUTS: Final = (
    Layout("CPF", r"\d{3}\.\d{3}\.\d{3}-\d{2}", ("{} confirmed\t123.456.789-09", "123.456.789-0, 11.222.333/0001-81")),
    Layout(
        "codice fiscale",
        r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]",
        ("({})\tRSSMRA85T10A562S", "AAPL260116C00250000"),
    ),
    Layout("national insurance number", r"[A-CEGHJ-NP-TW-Z]{2}\d{6}[A-D]", ("({})\tAB123456C", "QQ123456E")),
    Layout(
        "national insurance number with blanks",
        r"[A-CEGHJ-NP-TW-Z]{2} \d\d \d\d \d\d [A-D]",
        ("({})\tAB 12 34 56 C", "QQ 12 34 56 E"),
    ),
    Layout("AHV number", r"756\.\d{4}\.\d{4}\.\d{2}", ("({})\t756.9217.0769.85", "756.9217.0769.84"), ahv.is_valid),
    Layout(
        "rijksregisternummer",
        r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d",
        ("({})\t85.07.30-033.28", "85.07.30-033.29"),
        rijksregister.is_valid,
    ),
    Layout(
        "personnummer",
        r"(?:19|20)?\d{6}[\-+]\d{4}",
        ("({})\t880320-0016", "880320-0018, 556036-0793"),
        personnummer.is_valid,
    ),
    Layout(
        "henkilötunnus",
        r"\d{6}[\-+A]\d{3}[0-9A-FHJ-NPR-Y]",
        ("({})\t131052-308T", "131052-308U"),
        hetu.is_valid,
    ),
    Layout(
        "resident registration number",
        r"\d{6}-[1-8]\d{6}",
        ("({})\t971013-2019903", "971013-2019904"),
        rrn.is_valid,
    ),
    Layout("CNIC", r"\d{5}-\d{7}-\d", ("({})\t34201-0891231-8", "94201-0891231-8"), cnic.is_valid),
    Layout("Emirates ID", r"784-(?:19|20)\d\d-\d{7}-\d", ("({})\t784-1984-1234567-3", "784-1884-1234567-3")),
    Layout("MyKad", r"\d{6}-\d\d-\d{4}", ("({})\t770305-02-1234", "771305-02-1234"), mykad.is_valid),
    Layout(
        "Thai identity number",
        r"\d-\d{4}-\d{5}-\d\d-\d",
        ("({})\t1-2345-45678-78-1", "1-2345-45678-78-2"),
        thai_pin.is_valid,
    ),
    Layout("SNILS", r"\d{3}-\d{3}-\d{3} \d\d", ("({})\t112-233-445 95", "112-233-445 items")),
    Layout(  # from fifty millions on they are companies'
        "RUT",
        r"(?:[1-4]?\d)\.\d{3}\.\d{3}-[\dkK]",
        ("({})\t12.531.909-2", "12.531.909-3, 76.086.428-5"),
        rut.is_valid,
    ),
    Layout("CUIL", r"2[03457]-\d{8}-\d", ("({})\t20-26756539-3", "20-26756539-4, 30-70308853-4"), cuit.is_valid),
    Layout(
        "CURP",
        r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z\d]\d",
        ("({})\tBOXW310820HNERXN09", "BOXW310820HNERXN08"),
        curp.is_valid,
    ),
    Layout(
        "Chinese identity number",
        r"[1-9]\d{5}(?:19|20)\d{9}[\dX]",
        ("({})\t360426199101010071", "360426199101010072"),
        ric.is_valid,
    ),
    Layout(
        "machine-readable line of a passport",
        r"[A-Z\d<]{9}\d?[A-Z]{1,3}<{0,2}\d{7}[MFX<]\d{7}[A-Z\d<]{0,18}",
        ("({})\tC01X0006H1D<<6408125F2702283<<<<<<<4", "C01X00069ABCD6408125F"),
    ),
    Layout("NIE", r"[XYZ]\d{7}[A-Z]", ("({})\tX2482300W", "X2482300A"), nie.is_valid),
    Layout("rodné číslo", r"\d{6}/\d{3,4}", ("({})\t710319/2745", "710319/2746"), rodne_cislo.is_valid),
    Layout("personas kods", r"\d{6}-\d{5}", ("({})\t161175-19997", "161175-19998"), personas_kods.is_valid),
    Layout(
        "Medicare beneficiary identifier",
        r"[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d-[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d-[AC-HJKMNP-RT-Y]{2}\d\d",
        ("({})\t1EG4-TE5-MK73", "1EG4-TES-MK73"),
    ),
)
_SPACED_LAYOUTS: Final = tuple(layout for layout in LAYOUTS if " " in layout.pattern)


class Label(NamedTuple):
    """Beside one of ``words``, and a ``gap``, a ``value`` of so many digits is personal.

    In a word ``_`` is a blank, a dash or nothing; capitals stand for capitals, or for the name of a key. The examples
    are those of a rule.
    """

    words: frozenset[str]
    value: str
    examples: tuple[str, str]
    min_digits: int = 0
    gap: str = r"[^\d\n\[]{0,24}?"


LABELS: Final = {
    "id_number": Label(
        spellings(
            "ssn itin social_security social_insurance national_insurance national_id nino aadhaar ausweis"
            " personalausweis driver_license drivers_license driver's_license driver's_licence driving_licence"
            " driving_license nhs medicare patient_id medical_record medical_record_number personal_number mrn"
            " título_de_eleitor titulo_de_eleitor"
            " dni nie nif cpf cnh curp pesel ahv codice_fiscale personnummer bsn steuer"
            " steueridentifikationsnummer führerschein rentenversicherungsnummer tax_id tax_number tax_file"
            " taxpayer_id sozialversicherungsnummer sécurité_sociale seguridad_social identity_card id_card"
            " id_number identity_number personal_id tax_identification insee versichertennummer"
            " versicherungsnummer krankenkassennummer krankenversicherungsnummer sv_nummer svnr nric voter_id"
            " epic_number resident_registration rijksregisternummer burgerservicenummer registre_national"
            " fødselsnummer fodselsnummer henkilötunnus hetu cpr_number cpr_nr kennitala identiteitskaart"
            " id_nummer sofinummer rijbewijs rijbewijsnummer polisnummer verzekerdennummer person_nr"
            " samordningsnummer id_kort körkort numéro_de_identidad documento_de_identidad identità identité"
            " carteira_de_identidade identidade emirates_id numéro_fiscal référence_fiscale contribuinte"
            " partita_iva p._iva p.iva seguro_social carte_vitale tarjeta_sanitaria tessera_sanitaria cartão_sus"
            " saúde health_card health_insurance medicare_card member_id individual_healthcare"
            " permis_de_conduire permiso_de_conducir patente driver_licence drivers_licence prawo_jazdy"
            " dowód_osobisty dowodu dowodu_osobistego unique_taxpayer permanent_account kimlik numéro_national"
            " numéro_avs pasep krankenversichertennummer инн снилс паспорт паспорта idnr insurance_policy 身份证"
            " 社保 社会保障 マイナンバー 個人番号 免許証 運転免許証 保険証 被保険者 주민등록 운전면허 NRIC FIN"
            " EPIC NIN CPR MBI RRN HETU VIN SIN PAN TIN TFN NIR DL NI UTR RVNR KVNR CNI NUSS CNS PIS NIP UAN IHI"
            " OHIP NSS AVS NIS SPI RG SA_ID btw_nummer الهوية القومي identidad identifikationsnummer sv_nr id_no"
            " паспорт_серия shenfenzheng chi_number nhi_number NHI ird_number IRD sss_number philsys C.I C.C A.K"
            " P.K CURP CUIL DNI JMBG ЈМБГ EMŠO EMSO матични_број ИИН IIN ЖСН fødselsnr sozialversicherungsnr"
            " rentenversicherungsnr steuernr ausweisnr adóazonosító TC_no voter_card nic_no kt. h&c_number"
            ' medicaid medicaid_id versicherten_nr insurance_id permiso_de_conducción удостоверение ת"ז NISS'
            " sécu pps_number pps_no ppsn PPS hkid mykad kad_pengenalan ic_number ic_no KTP NIK"
            " cnic CNIC iqama الإقامة البطاقة citizen_id national_register national_identification cédula"
            " cédula_de_identidad cédula_de_ciudadanía cuil cuit_cuil RUT rodné_číslo RČ személyi_szám"
            " személyi_számom személyi_azonosító taj_szám TAJ taj_számom CNP CNP-ul cod_numeric_personal ЕГН EGN"
            " OIB osobni_identifikacijski isikukood asmens_kodas personas_kods ΑΜΚΑ AMKA ΑΦΜ AFM tckn SNILS INN"
            " РНОКПП RNOKPP ІПН IPN teudat_zehut תעודת_זהות זהות aadhar आधार पैन pan_card เลขประจำตัวประชาชน"
            " บัตรประชาชน เลขบัตรประชาชน thai_id thai_national_id CCCD căn_cước CMND BVN EHIC"
            " medicare_beneficiary subscriber_id health_plan_id NAVS NAVS13 fnr FNR"
            " national_number insurance_number licence_number license_number"
            " henkilötunnukseni kennitalan fødselsnummeret numéro_de_sécu num_sécu documento_número"
            " driver_number dl_number dl_no numéro_de_permis n°_de_permis prawa_jazdy 身分證 身份證 주민번호"
            " jumin загранпаспорт загранпаспорта zagranpasport passport_rf pasport"
        ),
        r"(?<![A-Za-z0-9_])(?=[A-Z\-. ]{0,8}\d)[A-Z0-9](?:(?:[ \-./+]|%20|%2F)?[A-Z0-9]){4,24}"
        r"(?:\(\d\)|%28\d%29)?(?![A-Za-z0-9])",
        ("Ausweisnummer {}\tC37NCN9L0", "income tax 2023: 16,741; 2022: 19,300"),
        min_digits=2,
    ),
    "mexican_id": Label(  # RFC is also how the standards of the internet are named
        spellings("RFC"),
        r"[A-ZÑ&]{3,4}[ -]?\d{6}[ -]?[A-Z0-9]{3}(?![A-Za-z0-9])",
        ("RFC: {}\tGOPM850214QX3", "RFC 9421 HTTP Message Signatures, RFC 3339 TIMESTAMP"),
        min_digits=6,
    ),
    "my_number": Label(
        spellings("my_number mynumber individual_number UID"),
        r"\d{4}[ -]?\d{4}[ -]?\d{4}(?!\d)",
        ("My Number: {}\t2402 9048 2050", "my number 7"),
        min_digits=12,
    ),
    "passport": Label(
        spellings(
            "passport passeport pasaporte passaporto passaporte reisepass pass_nr passnummer paspoort paszport"
            " paszportu pasaport पासपोर्ट hộ_chiếu διαβατήριο דרכון útlevél cestovní_pas السفر 护照 護照 旅券"
            " パスポート 여권"
        ),
        r"(?<![A-Za-z0-9])(?=[A-Z]{0,8}\d)[A-Z0-9]{7,10}(?![A-Za-z0-9])",
        ("passport no. {}\tC01X00T47", "passport renewals rose 14%"),
        min_digits=1,
    ),
    "phone": Label(
        spellings(
            "phone phones telephone tel tél telefon telefonnummer teléfono telefono téléphone mobile mobil"
            " móvil hotline erreichbar rückruf mich_an nummer cell cellphone cellulare fax call sms text_me"
            " text_us whatsapp dial ring reach contact handy handynummer rufnummer ph numéro_de_téléphone"
            " telefone celular telefoon mobiel telefonu komórka puhelin puhelinnumero tlf телефон телефона тел"
            " 电话 手机 電話 携帯 전화 휴대폰 연락처 هاتف الهاتف الجوال ruf_mich rufen_sie_mich llámame llámeme"
            " chiamami bel_me zadzwoń soita numeroon позвоните ligne_directe fon 拨打 お電話 wa.me ring_mig"
            " natel mobiltelefon mobilnummer telefonnummeret tfno tel._kom telefón mobilní telefonszám"
            " matkapuhelin puh τηλέφωνο κινητό טלפון נייד फ़ोन टेलीफोन SĐT मोबाइल โทรศัพท์ โทร điện_thoại telepon GSM"
            " téléphone_portable telefono_cellulare 携帯電話 手机号 联系电话 连络电话 聯絡電話 手機 휴대전화"
        ),
        r"(?:[+(]|%2B|%28){0,2}\d(?:(?:[ \t\xa0.\-/()+]|%20|%2F|%2[89D]){0,3}\d){6,14}(?![\d\-]|\.\d|,\d|%)",
        ("reach me on {}\t030 1234567", "contact centers handled 1,234,567 calls in 2023"),
        min_digits=7,
        gap=r"[^\d\n+(\[]{0,24}",
    ),
    "account": Label(
        spellings(
            "account_number account_no account_ending acc account. account_# kundennummer depotnummer"
            " mitgliedsnummer acct acct_number acct_no bank_account konto konto_nr numéro_de_compte"
            " número_de_cuenta routing aba sort_code bsb blz card_number card_ending cc_number credit_card"
            " debit_card kreditkarte carte_bancaire checking_account savings_account kto_nr bankleitzahl RIB"
            " cuenta cuenta_bancaria conto conto_corrente conta conta_bancária conta_corrente rekeningnummer"
            " konta rachunku rachunek rachunek_bankowy bankgiro clearingnummer tilinumero clabe счёта счет 银行卡"
            " 银行账 账号 账户 口座 계좌 卡号 n°_de_compte sort CBU bankkonto bank_card kto kouza_bango खाता rekening"
            " számlaszám číslo_účtu"
        ),
        r"\d(?:(?:[ \-+]|%20)?\d){4,27}(?![.,]?\d)",
        ("account number {}\t12345678901", "account 12 of 15"),
        min_digits=5,
        gap=r"[^\d\n\[]{0,16}",
    ),
    "birth": Label(
        spellings(
            "dob d.o.b д.р date_of_birth birth_date birthday born born_on geburtsdatum geburtstag geboren geb."
            " geb_datum geboren_am date_de_naissance naissance né_le née_le fecha_de_nacimiento fecha_de_nac"
            " nac. bday birth_dt nasc né(e)_le nacimiento nacido_el nacida_el nació_el nació nacido nacida"
            " data_di_nascita nato_il nata_il nato_a nata_a geboortedatum geboorte_datum geboren_op"
            " data_de_nascimento nascimento nascido_em nascida_em nascido nascida nasceu födelsedatum födelsedag"
            " född fødselsdato fødselsdag født syntymäaika syntynyt data_urodzenia data_ur urodzony urodzona"
            " urodził_się urodziła_się ur. doğum_tarihi doğum дата_рождения рождения родился родилась"
            " data_rozhdeniya datum_narození narozen narozena születési_dátum született data_nașterii născut"
            " születési ημερομηνία_γέννησης γεννήθηκε дата_на_раждане дата_народження народився fæðingardagur"
            " tanggal_lahir ngày_sinh วันเกิด תאריך_לידה जन्म_तिथि जन्म الميلاد 生年月日 誕生日 出生日期 出生"
            " 生日 생년월일 생일"
        ),
        rf"\d{{1,4}}(?:[\-/.]|%2F)\d{{1,2}}(?:[\-/.]|%2F)\d{{1,4}}"
        rf"|\d{{1,2}}(?:st|nd|rd|th|er|º)?(?:[.\-]|{_BLANK}){{1,2}}(?:de{_BLANK})?(?:[^\W\d_]|%[0-9A-F]{{2}}){{3,13}}"
        rf"(?:[.,\-]|{_BLANK}){{0,2}}(?:del?{_BLANK})?\d{{4}}"
        r"|(?:(?:19|20)\d\d|(?:大正|昭和|平成|令和)\d{1,2})[年년](?:\s|%20)?\d{1,2}[月월](?:\s|%20)?\d{1,2}[日일]"
        rf"|{_MONTH}\.?{_BLANK}\d{{1,2}}(?:st|nd|rd|th)?(?:,|%2C)?{_BLANK}\d{{4}}|(?:19|20)\d{{6}}(?!\d)",
        ("née le {}\t4. November 1961", "born in 1961"),
        min_digits=4,
        gap=r"[^\d\n\[]{0,16}?",
    ),
    "mac": Label(
        spellings("mac mac_addr mac_address mac_adresse adresse_mac hwaddr hw_addr hardware_address ether bssid"),
        r"(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}(?!\w|\.\w)|(?:[0-9A-Fa-f]{2}%3A){5}[0-9A-Fa-f]{2}(?![\w%])",
        ("MAC address: {}\t17b0.7173.06be", "Mac sales of $29,357 million in 2023, 29,984 in 2024"),
        gap=rf"{_SIGNS}(?:(?:is|to)[^\w\n]{{1,3}})?",
    ),
    "ip": Label(  # without a word that says whose it is an address is a version, or a server
        spellings(
            "ip ipv4 ipv6 ip_addr ip_address ipv4_address ipv6_address ip_addresses ip_adresse client remote"
            " failed accepted remote_host unknown zugriff anmeldung src remote_addr remote_address forwarded_for"
            " visitor peer connected connection connections connecting request requests requested login logs"
            " logged sign_in signed_in signin access accessed visit visited session sessions came hit hits"
            " blocked banned denied rejected client_addr"
        ),
        r"(?<![\d.\w])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]\d|\d|-[a-z])"
        r"|(?<![\w:])(?:[0-9A-Fa-f]{0,4}(?::|%3A)){2,7}[0-9A-Fa-f]{1,4}(?![\w:])",
        ("logged in from {}\t198.51.100.4", "IP licensing revenue 3.2.1 and v10.0.19041.1"),
        gap=rf"{_SIGNS}"
        r"(?:(?:[A-Za-z]{1,12} ){0,3}(?:from|to|is|was|of|ip|host|von|ist|address|at|addr)[^\w\n]{1,3}){0,2}",
    ),
    "address": Label(
        spellings(
            "address addr street_address home_address adresse anschrift wohnhaft wohnhaft_in dirección"
            " direccion domicilio domicile indirizzo adres wohnadresse adresse_postale resides_at lives_at"
            " live_at ship_to bill_to deliver_to wohnort wohnsitz lieferadresse rechnungsadresse wohne_in"
            " wohnt_in domicilié postanschrift residenza endereço morada woonadres adres_zamieszkania adress"
            " bostadsadress osoite адрес العنوان 住所 地址 住址 주소 STREET straße: lieferanschrift"
            " rechnungsanschrift gatuadress wohnanschrift miejsce_zamieszkania место_жительства zamieszkania"
            " жительства endereço_residencial residência domicílio moro_na moro_em mora_na mieszkam_przy bor_på"
            " woon_op abito_in abita_in j'habite_au habite vivo_en vive_en живу_по_адресу lakcím adresa"
            " διεύθυνση địa_chỉ ที่อยู่ alamat כתובת पता"
        ),
        # a house number beside a name in capitals, up to the end of the field, the line or the sentence
        rf"(?!\d+ (?!{_STREET})[a-z]{{4}})"
        r"(?=[^\n\"'<>|{}\[\];]{0,60}?(?:\d{1,5}[A-Za-z]?,?(?:[ +]|%20)(?:[A-Z]|rue|avenue|boulevard|place|bis)"
        r"|(?:[A-Z][^\W\d_]+|д)\.?,?(?:[ +]|%20)(?!(?:19|20)\d\d(?!\d))\d{1,5}(?!\d)"
        rf"|(?:{_STREET})(?:{_BLANK}(?:d[aeiou]s?|del|dell[ao]|la|le|les)){{0,2}}{_BLANK}[{_CAPITALS}\d]"
        r"[^\n\"'<>|{}\[\];]{0,60}\d))"
        rf"(?:[{_CAPITALS}\d]|(?:{_STREET})(?={_BLANK}))"
        r"(?:[^\n\"'<>|{}\[\];]{7,120}?(?=\.?(?:[\n\"'<>|{}\[\];)]|\Z)|\.\s+[A-Z]|\t)"
        r"|[^\n\"'<>|{}\[\];]{7,80}(?!\w))"
        rf"|{_EAST_ASIAN}[^\n\"'<>|{{}}\[\];。]{{3,60}}\d[\d\-]{{0,12}}[号號]?"
        r"|[\u0590-\u06ff\u0900-\u0eff](?=[^\n\d]{0,60}\d)[^\n\"'<>|{}\[\];]{7,120}"
        r"|[\w.+\-]{0,60}%[89A-F][0-9A-F][\w.+%\-]{7,400}",
        ("Home address: {}. Thanks\t12 Maple Street, Springfield", "to address the 12 questions of 2024"),
        min_digits=1,
        gap=rf"{_SIGNS}(?:(?:{_ARE})[^\w\n]{{1,3}})?",
    ),
}


def joint_pattern(joint: re.Match[str]) -> str:
    return r"\.?[ _-]?" + (f"(?:{joint[1]}[ _-]?)?" if joint[1] else "")


def is_initials(word: str) -> bool:
    """True for what is also written with dots: RFC, and "d.o.b", which only is."""
    return (word.isupper() and word.isalpha() and 2 <= len(word) <= 5) or word[1::2] in (".", "..", "...")


def label_pattern(words: Iterable[str]) -> str:
    """Return a pattern for labels; ``no.``, ``number`` and the like may follow."""
    # The small words of "date_of_birth" are often left out in the names of keys. In order of the words where they are
    # equally long, or what is found would differ from process to process.
    longest_first = sorted(sorted(words), key=len, reverse=True)
    spelled = [re.sub(rf"_(?:({_OF})_)?", joint_pattern, re.escape(word)) for word in longest_first]
    exact = r"(?-i:{0})|{0}(?=(?:[_-]?(?:number|num|no|id))?[\"']{{0,2}}\s?(?:value)?(?:[=:>]|\Z))"
    any_case = "|".join(exact.format(word) if word.isupper() else word for word in spelled)
    initials = sorted(word.replace(".", "") for word in words if is_initials(word))
    dotted = "|".join(r"\.[ ]?".join(letters) + r"(?![^\W_])" for letters in initials)
    any_case += f"|{dotted}" if dotted else ""
    number = "numbers?|num|no|nr|nummer|n|id|home|work|reference|identifier|numarası|संख्या|号码?|番号|번호"
    return rf"(?i:{any_case})(?i:[ _-]?(?:{number}))?(?i:[ _-]?line)?\d?[ ]?[.#°]{{0,2}}"


# "the passport number of the applicant is …"
_OF_SOMEBODY = rf"(?:[ ](?:{_OF})(?:[ ][^\W\d_]{{1,16}}){{1,4}}?[ ](?:is|was|ist|lautet|est|es|è|é)(?![^\W_]))?"
# What is searched for in texts.
_LABELLED: Final = {
    # The label may be part of a name such as ``home_phone`` or ``contactPhone``.
    kind: re.compile(
        rf"(?:(?<![^\W_])|(?<=[a-z])(?=[A-Z])|(?={_EAST_ASIAN}))(?!(?<=\.)\w+\.\d)(?<!USt-){label_pattern(label.words)}(?![a-z]|(?<=[A-Za-z\d])\d)"
        rf"{_OF_SOMEBODY}(?:{label.gap}|{_MARKS})(?P<value>{label.value})"
    )
    for kind, label in LABELS.items()
}
# What the headings of tables must be, each kind a group, and what the cells below them must be.
_HEADING: Final = re.compile(
    "|".join(
        rf"(?P<{kind}>(?:[\w.°]{{1,16}}[ _'/-]){{0,3}}(?:[a-z]{{1,16}}(?=[A-Z]))?{label_pattern(label.words)})"
        for kind, label in LABELS.items()
    )
)
_CELLS: Final = {kind: re.compile(label.value) for kind, label in LABELS.items()}


def first_words(words: Iterable[str]) -> frozenset[str]:
    """Return the words with which labels begin, for the triggers: "date", "dateofbirth" of "date_of_birth"."""
    first: set[str] = set()
    for word in map(str.lower, words):
        whole = word.replace("_", "")
        first |= {
            whole.replace(".", "") if is_initials(word) else re.findall(r"[^\W\d_]+", word)[0],
            whole,
            f"{whole}nummer",
            f"{whole}nr",
        }
        first |= {word[0]} if re.match(_EAST_ASIAN, word) else set()  # each ideograph is a word
    return frozenset(first)


_FIRST_WORDS: Final = {kind: first_words(label.words) for kind, label in LABELS.items()}
_KINDS: Final = {
    word: [kind for kind in LABELS if word in _FIRST_WORDS[kind]] for words in _FIRST_WORDS.values() for word in words
}
_EAST_ASIAN_LABELS: Final = sorted(filter(re.compile(_EAST_ASIAN).match, _KINDS), key=len, reverse=True)
_EAST_ASIAN_LABEL: Final = re.compile("|".join(_EAST_ASIAN_LABELS))
_KOREAN_STEMS: Final = "|".join(word for word in _EAST_ASIAN_LABELS if len(word) > 1 and word[0] >= "가")
_WORD = re.compile(r"[^\W\d_]+")
_INITIALS = re.compile(r"(?<![^\W_])[^\W\d_](?:\.[ ]?[^\W\d_]){1,4}(?![^\W_])")
_INITIALS_SHAPE = r"[^\W\d_]\.(?<![^\W_]..)(?<!U\.)[^\W\d_]\."  # not of "U.S.", which filings are full of
_NO_DOTS = str.maketrans("", "", ". ")
_PART_OF_NAME = re.compile(r"[A-Z]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+")
_PUBLIC_NUMBER = re.compile(  # an EIN, a CIK, a date, a span of years, a patent, a number of a company
    r"(?:EP|US|WO) ?\d{7,11}(?: ?[A-C]\d?)?|3[034]-\d{8}-\d"
    r"|\d\d\.\d{3}\.\d{3}/\d{4}-\d\d|(?:1[5-9]|20)\d\d[-–/]\d{2,4}|\d{1,2}/\d{1,2}/(?:19|20)\d\d|\d{2}-\d{7}|0{3}\d{7}|(?:19|20)\d\d-\d\d-\d\d|(?:19|20)\d\d[-–](?:19|20)\d\d"
)
# What is no identity number: a figure of few digits, also a version, with a name before it.
_FIGURE = re.compile(
    r"(?=(?:\D{0,9}\d){1,6}\Z|\d\.\d\.\d{5}\Z)(?:[A-Z]{1,8}[ -](?!\d{6}))?\d{1,6}(?:[ .,/\-]\d{1,5}){0,3}"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:(?:[ \-\xa0+]{1,4}|%20)?[A-Za-z0-9]){11,30}")
_NO_BLANKS = str.maketrans("", "", " +\xa0")
_END_OF_WORD = re.compile(r"(?<=[^\W_])(?![^\W_])")
_LOCAL_IPS = ("127.", "0.0.0.0", "255.255.255.255", "::1")  # noqa: S104 - compared with, never bound to
# These folders name nobody.
_SHARED_HOMES = wordset(
    "Shared Public Default user username $USER you runner ~ All app node www-data ubuntu debian"
    " ec2-user vscode git"
    " linuxbrew jenkins circleci vagrant coder appuser airflow jovyan gitpod deploy"
)


def find_emails(text: str, start: int) -> Iterator[Span]:
    for found in _EMAIL.finditer(text, start):
        is_service = found["local"].lower() in _SERVICE_USERS or found["domain"].lower() in _ALGORITHM_DOMAINS
        is_password = _URL_USER.search(text, max(found.start() - 80, 0), found.start()) is not None
        if found["tld"].lower() not in _FILE_ENDINGS and not is_service and not is_password:
            yield Span(*found.span(), "email", f"{found['local'][0]}***@{found['domain']}")


def is_card(_found: re.Match[str], value: str) -> bool:
    number = re.sub(r"\D", "", value)
    return _CARD_ISSUER.fullmatch(number) is not None and luhn.is_valid(number)


def find_by_label(text: str, start: int) -> Iterator[Span]:
    # Only where a label's first word is: to search for the patterns everywhere would cost much more.
    low = lower_case(text)
    words = [*_WORD.finditer(low, start)]
    words += [*_PART_OF_NAME.finditer(text, start)] if low != text else []
    words += [*_EAST_ASIAN_LABEL.finditer(text, start)] if not text.isascii() else []
    kinds = [(kind, word.start()) for word in words for kind in _KINDS.get(word[0].lower(), ())]
    for initials in _INITIALS.finditer(low, start):
        kinds += [(kind, initials.start()) for kind in _KINDS.get(initials[0].translate(_NO_DOTS), ())]
    for kind, place in dict.fromkeys(kinds):
        found = _LABELLED[kind].match(text, place)
        if not found or sum(map(str.isdigit, found["value"])) < LABELS[kind].min_digits:
            continue
        if not is_public(found["value"], kind) and (kind != "ip" or is_personal_ip(found["value"])):
            yield Span(*found.span("value"), kind)


def is_public(value: str, kind: str) -> bool:
    is_figure = kind == "id_number" and _FIGURE.fullmatch(value) is not None
    return is_figure or (kind != "birth" and _PUBLIC_NUMBER.fullmatch(value) is not None)


def is_labelled(name: str, value: str) -> bool:
    """True where the name of a key is a label, and the value has the form that belongs to it."""
    return any(span.end > len(name) + 2 for span in find_by_label(f"{name}: {value}", 0))


def find_personal_cells(text: str, start: int) -> Iterator[Span]:
    def kind_of_column(name: str) -> str:
        heading = _HEADING.fullmatch(name)
        return (heading and heading.lastgroup) or ""

    def is_personal(value: str, kind: str, _delimiter: str) -> bool:
        return not is_public(value, kind) and _CELLS[kind].fullmatch(value) is not None

    return (Span(*found) for found in find_in_tables(text, start, kind_of_column, is_personal))


def is_personal_ip(address: str) -> bool:
    is_v4 = address.count(".") == 3
    # Small numbers alone are a version, or an address of a private network.
    is_valid = (
        address.startswith("10.") or 64 <= max(map(int, address.split("."))) < 256
        if is_v4
        else sum(map(str.isalnum, address)) >= 4
    )
    return is_valid and not address.startswith(_LOCAL_IPS)


def find_ibans(text: str, start: int) -> Iterator[Span]:
    for found in _IBAN.finditer(text, start):
        for end in _END_OF_WORD.finditer(text, found.start() + 14, found.end()):  # words may follow
            if iban.is_valid(
                text[found.start() : end.start()].translate(_NO_BLANKS).replace("%20", ""), check_country=False
            ):
                yield Span(found.start(), end.start(), "iban")


def layout_rule(layout: Layout) -> Rule:
    return pattern_rule(
        layout.name,
        "spaced_layout" if layout in _SPACED_LAYOUTS else "layout",
        layout.examples,
        rf"(?<![\w.\-/])(?P<value>{layout.pattern})(?![\w\-/]|\.\w)",
        kind="id_number",
        accept=lambda _found, value: layout.is_valid(value),
    )


_LABEL_WORDS: Final = frozenset().union(*_FIRST_WORDS.values())
_LABEL_WINDOW = re.compile(
    rf"(?:['’]?s?(?:[ ][^\W\d_]{{1,12}}){{0,2}}?[ ](?:{_OF})(?=[ ])){{0,2}}+"
    r"[^\d\n<]{0,48}+(?:<[^\d\n]{0,40}+)?+(?:\n\s{0,8}+[^\d\n]{0,12}+)?+"
    r"(?:\d[A-Za-z0-9 \-./()+,:%年月日년월일]{0,40}+(?:[^\W\d_]{2,13}+\.?+,?+(?:\s\d{0,4}+)?+)?+)?+"
)
TRIGGERS: Final = (
    Trigger("at", marks="@&%[(", shape=r"@|&(?:#64|#x40|commat);|%40|\[at\]|\(at\)"),
    Trigger(
        "digit",
        marks=digits,
        # not a part of an address, nor a year; behind it the number goes on, in this word or the next
        shape=r"[\d(+](?:(?<=\d)(?:(?=\d\d)(?<!\d.)(?<!\d\..)(?!\d{0,2}\.(?:\d{1,3}\.){2}\d{1,3}(?![\d.\-]))"
        r"(?!(?:(?<=1)9|(?<=2)0)\d\d(?!\d))\d\d|(?<![\d.,].)(?=\d?\))|(?<=0)(?<![\d.,].)[1-9](?![\d.,]))"
        r"|(?<=\()\+?\d(?=\d?\))|(?<=\+)\d)(?=[\d.\-‑–/()+]*+\Z|(?:[.\-‑–/()+]{0,3}\d){5})",
        window=re.compile(r"[\d\s.\-‑–/()+]{0,60}+"),
        needs=re.compile(r"(?:\d\D{0,3}+){9}|\+(?:\d\D{0,3}+){8}"),
    ),
    Trigger("mac", marks=":-", shape=r"[0-9A-Fa-f](?<![\w:\-].)[0-9A-Fa-f]([:\-])(?:[0-9A-Fa-f]{2}\1){4}"),
    Trigger(
        "access_log",
        marks=digits,
        shape=r"[\da-fA-F:](?<![\w.:].)(?:(?<=\d)\d{0,2}\.(?:\d{1,3}\.){2}\d{1,3}\Z|[\da-fA-F:]{4,38}\Z(?<!:)(?<!\w{5}))",
        window=re.compile(r"(?: (?:-(?: (?:[^\s\[]{1,64}+(?: (?:\[\d?+)?+)?+)?+)?+)?+)?+"),
        needs=re.compile(" - "),
    ),
    Trigger(
        "label",
        frozenset().union(*(words for kind, words in _FIRST_WORDS.items() if kind != "ip")),
        stems=_KOREAN_STEMS,
        shape=_INITIALS_SHAPE,
        marks=".",
        window=_LABEL_WINDOW,
        needs=re.compile(r"\d"),
    ),
    Trigger(
        "label",
        _FIRST_WORDS["ip"],
        window=_LABEL_WINDOW,
        needs=re.compile(r"\d\.\d{1,3}\.\d|[0-9A-Fa-f:](?::|%3A)[0-9A-Fa-f]{0,4}(?::|%3A)"),
    ),
    Trigger(
        "column",
        _LABEL_WORDS,
        stems=_KOREAN_STEMS,
        shape=_INITIALS_SHAPE,
        marks=".",
        window=table_window(3),
        max_chars=4_096,
        needs=HAS_ROWS,
    ),
    Trigger(
        "address",
        _FIRST_WORDS["address"],
        window=re.compile(
            r"(?i:\s?(?:at|to|in)(?![a-z])|[ _-]?line)?+\d?(?:[\s:*]|</?[a-z]{1,8}>?+){0,12}+"
            r"[^\w\n\[]{0,12}+(?:value[^\w\n\[]{0,4}+)?+"
            rf"(?:(?:{_ARE})(?!\w)\W{{0,3}}+)?+"
            rf"(?:(?:[{_CAPITALS}\d%]|{_EAST_ASIAN}|{_STREET})[^\n\"'<>|{{}}\[\];]{{0,165}}+)?+"
        ),
    ),
    Trigger("path", marks="/:", shape=r"/home/|/Users/|:(?:\\{1,4}|/)[Uu]sers"),
    Trigger(
        "iban",
        marks=digits,
        shape=r"[A-Za-z](?<![A-Za-z0-9].)[A-Za-z]\d{2}(?=[A-Za-z0-9]{8}|[ \-+%]|\Z)",
        window=re.compile(r"[A-Za-z0-9 \-+%]{0,58}+"),
    ),
    Trigger(
        "layout",
        marks=digits,
        shape=rf"(?<![\w.\-/])(?:{'|'.join(layout.pattern for layout in LAYOUTS if layout not in _SPACED_LAYOUTS)})",
    ),
    Trigger(
        "spaced_layout",
        marks=digits + ascii_uppercase,
        shape=rf"(?<![\w.\-/])(?:{'|'.join(layout.pattern.partition(' ')[0] for layout in _SPACED_LAYOUTS)})\Z",
        window=re.compile(r"[ \dA-Z.\-/]{0,24}+"),
        needs=re.compile("|".join(layout.pattern for layout in _SPACED_LAYOUTS)),
    ),
)
RULES: Final = (
    Rule(
        "e-mail address",
        frozenset({"at"}),
        ("write to {} today\tbob.stone@example.com", "npm install left-pad@1.3.0 @scope/pkg@2.0.0"),
        find_emails,
    ),
    pattern_rule(
        "card number",
        "digit",
        ("card {} ok\t4111 1111 1111 1111", "card 4111 1111 1111 1112"),
        r"(?<![\d.,\-/])(?<!(?<!\\)[A-Za-z])(?<![A-Za-z]_)"
        r"(?P<value>\d{4}([ \-]?)\d{4}\2\d{4}\2\d{4}(?:\2\d{1,3})?|\d{4}([ \-]?)\d{6}\3\d{4,5})(?![\d\-]|[.,]\d)",
        kind="card",
        accept=is_card,
    ),
    pattern_rule(
        "social security number",
        "digit",
        ("({})\t219-09-9999", "000-12-3456"),
        # Numbers that the authority never issues (000, 666, 00, 0000) stay.
        r"(?<![\d\-])(?P<value>(?!000|666)\d{3}([\-‑–])(?!00)\d{2}\2(?!0000)\d{4})(?![\d\-])",
        kind="ssn",
        needs=r"[\-‑–]\d\d[\-‑–]\d{4}",
    ),
    pattern_rule(
        "phone",  # international, North American, French, British; others need a label
        "digit",
        ("UK {}\t+44 20 7946 0958", "up +12 345, 415,555,0132, 01 23 45, 020 79"),
        r"(?<![\w.\-/])(?P<value>(?<!\+)\+(?:\d{8,15}(?!\d)"
        r"|\d{1,3}(?:[ .\-\xa0]?\(\d{1,4}\))?(?:[ .\-/\xa0]?\d{1,4}){2,6}(?!\d))"
        r"|(?<![$€£])(?:\+?1[ .\-])?"
        r"(?:\([2-9]\d{2}\) ?[2-9]\d{2}[ .\-]|[2-9]\d{2}([.\-/])[2-9]\d{2}(?:\2|(?<=/...)-))\d{4}"
        r"(?![\w\-]|\.\d)|0[1-9](?:[ .]\d{2}){4}(?![\w.\-]\d)(?!\d)"
        r"|(?:07\d{3} ?\d{3} ?\d{3}|020 ?\d{4} ?\d{4}|\(0\d{2,4}\) ?\d{3,4} ?\d{3,4})(?![\w\-]))",
        kind="phone",
        accept=lambda _found, value: 8 <= sum(map(str.isdigit, value)) <= 15,
        needs=r"\+|\)|[ .\-/][2-9]\d\d[.\-/]\d{4}|(?:[ .]\d\d){4}|0[27]",
    ),
    pattern_rule(
        "MAC address",
        "mac",
        ("seen {} on the switch\tcf:a7:2a:b4:13:2a", "12:34:56:ab:cd:ef:12:34:56:ab:cd:ef:12:34:56:ab"),
        # A MAC address is written as six pairs; with more of them it is a fingerprint.
        r"(?<![\w:\-])(?P<value>[0-9A-Fa-f]{2}([:\-])(?:[0-9A-Fa-f]{2}\2){4}[0-9A-Fa-f]{2})(?![\w:\-])",
        kind="mac",
    ),
    pattern_rule(
        "access log",
        "access_log",
        ('{} - ann [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200\t45.88.196.250', "v10.0.19041.1 - see [12]"),
        # The first field of a web server's log.
        r"(?<![\w.:])(?P<value>[\d.]{7,15}|[0-9a-fA-F:]{5,39}) - [^\s\[]{1,64} \[\d",
        kind="ip",
    ),
    Rule(
        "labelled personal data",
        frozenset({"label", "address"}),
        ("Tel. {}\t+1 415 555 0132", "call options expiring 12/20/2024 at 659.00"),
        find_by_label,
        re.compile(r"\d"),
    ),
    Rule(
        "column of personal data",
        frozenset({"column"}),
        ("row,passport number,status\n1,{},open\t313773501", "| Phone | 205,489 | 191,973 |"),
        find_personal_cells,
        HAS_ROWS,
    ),
    Rule("IBAN", frozenset({"iban"}), ("IBAN {}\tDE89 3704 0044 0532 0130 00", "ISIN DE0007164600"), find_ibans),
    *map(layout_rule, LAYOUTS),
    pattern_rule(
        "home folder",
        "path",
        ("open /home/{}/notes.txt\talicew", "/home/runner/x"),
        r"(?:(?:(?<=file://)|(?<![\w.\-/:]))(?:/home|/Users|/var/home)/|(?<![A-Za-z])[A-Za-z]:(?:\\{1,4}"
        r"|/)(?i:users|documents and settings)(?:\\{1,4}|/))"
        r"(?P<value>(?![{$%])[^/\\\s\"'`<>:|,;()\[\]]{1,64}+)(?![\]])",
        kind="home",
        accept=lambda _found, value: value not in _SHARED_HOMES,
    ),
)
